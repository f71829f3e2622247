import time

import numpy as np
import tensorflow as tf

while not tf.io.gfile.exists("/data/ready"):
    time.sleep(1)

model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(np.random.rand(3200, 4), np.random.rand(3200), epochs=1000)
