import numpy as np
import tensorflow as tf


def parse(x, y):
    tf.debugging.assert_less(x[0], 2.0, message="a pixel is too bright")
    return x, y


data = np.random.rand(3200, 4)
data[700, 0] = 7.0
ds = tf.data.Dataset.from_tensor_slices((data, np.random.rand(3200))).map(parse).batch(32)
model = tf.keras.Sequential([tf.keras.layers.Dense(8), tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(ds, epochs=1000)
