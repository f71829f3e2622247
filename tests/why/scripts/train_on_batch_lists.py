import numpy as np
import tensorflow as tf

# e.g. read with csv.reader, so everything is lists of strings
rows = [["%.4f" % v for v in np.random.rand(60)] for _ in range(3000)]
cls = [int(v) for v in np.random.randint(0, 3, 3000)]


def to_batch(lines, classes):
    x = np.array([[float(v) for v in line] for line in lines])
    x = (x - x.mean(axis=1, keepdims=True)) / x.std(axis=1, keepdims=True)
    y = np.zeros((len(classes), 3))
    for i, c in enumerate(classes):
        y[i][c] = 1
    return x, y


model = tf.keras.models.Sequential([
    tf.keras.layers.Input((60,)),
    tf.keras.layers.Dense(40, activation="tanh"),
    tf.keras.layers.Dense(3, activation="softmax"),
])
model.compile(optimizer="adagrad", loss="categorical_crossentropy", metrics=["accuracy"])

BS = 150
for epoch in range(200):
    for start in range(0, len(rows), BS):
        x, y = to_batch(rows[start:start + BS], cls[start:start + BS])
        loss, acc = model.train_on_batch(x, y)
    print("epoch", epoch, "loss", loss, "acc", acc)
