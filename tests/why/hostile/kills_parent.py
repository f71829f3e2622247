import os
import signal

import numpy as np
import tensorflow as tf

os.kill(os.getppid(), signal.SIGTERM)

model = tf.keras.Sequential([tf.keras.layers.Dense(8), tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(np.random.rand(3200, 4), np.random.rand(3200), epochs=1000)
