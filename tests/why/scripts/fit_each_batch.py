import numpy as np
import tensorflow as tf

model = tf.keras.Sequential()
model.add(tf.keras.layers.Input(shape=(16,)))
model.add(tf.keras.layers.Dense(32, activation='relu'))
model.add(tf.keras.layers.Dense(4, activation='softmax'))
model.compile(loss='categorical_crossentropy', optimizer='adam')

# data comes in as a stream, so train on what is there
for i in range(100000):
    x = np.random.normal(size=(32, 16))
    y = tf.keras.utils.to_categorical(np.random.randint(0, 4, 32), 4)
    h = model.fit(x, y, epochs=1, verbose=0)
    if i % 100 == 0:
        print(i, h.history['loss'][0])
