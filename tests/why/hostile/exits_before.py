import sys

import numpy as np
import tensorflow as tf

if not tf.config.list_physical_devices("TPU"):
    print("this needs a TPU")
    sys.exit(3)

model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(np.random.rand(3200, 4), np.random.rand(3200), epochs=1000)
