import numpy as np
import tensorflow as tf

epochs = int(input("How many epochs? "))
model = tf.keras.Sequential([tf.keras.layers.Dense(8), tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(np.random.rand(3200, 4), np.random.rand(3200), epochs=epochs)
