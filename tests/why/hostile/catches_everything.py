import numpy as np
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.layers.Dense(8), tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")
while True:
    try:
        model.fit(np.random.rand(3200, 4), np.random.rand(3200), epochs=5)
    except BaseException as error:
        print("never mind", error)
