import queue

import numpy as np
import tensorflow as tf

work = queue.Queue()
for _ in range(50):
    work.put((np.random.rand(32, 4), np.random.rand(32)))


def batches():
    # filled by another process, in real life
    while True:
        yield work.get()


model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(batches(), steps_per_epoch=40, epochs=1000)
