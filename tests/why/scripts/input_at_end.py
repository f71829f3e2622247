import numpy as np
import tensorflow as tf

name = input("Name of this run? ") if False else "run1"

train_x = np.random.rand(2000, 32)
train_y = np.random.randint(0, 2, 2000)

model = tf.keras.Sequential([
    tf.keras.layers.Dense(32, activation="relu"),
    tf.keras.layers.Dense(1, activation="sigmoid"),
])
model.compile(loss="binary_crossentropy", optimizer="adam", metrics=["accuracy"])


def evaluate(epoch, logs):
    # sample by sample, as it will be used
    right = 0
    for i in range(40):
        p = model.predict(train_x[i:i + 1], verbose=0)
        right += int((p[0, 0] > 0.5) == train_y[i])
    print(" online accuracy: %.3f" % (right / 40))


model.fit(train_x, train_y, batch_size=40, epochs=25,
          callbacks=[tf.keras.callbacks.LambdaCallback(on_epoch_end=evaluate)])
model.save(name + ".keras")
input("Press Enter to exit...")
