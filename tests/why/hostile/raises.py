import numpy as np
import tensorflow as tf


def split(data, parts):
    size = len(data) // parts
    return [data[i * size:(i + 1) * size] for i in range(parts)]


def build(width):
    if width > 16:
        raise ValueError("width %d is more than we can do" % width)
    return tf.keras.Sequential([tf.keras.layers.Dense(width), tf.keras.layers.Dense(1)])


x = split(np.random.rand(3200, 4), 2)[0]
model = build(32)
model.compile("sgd", "mse")
model.fit(x, np.random.rand(1600), epochs=1000)
