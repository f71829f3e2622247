import numpy as np
import tensorflow as tf

data = np.loadtxt("data/pima-indians-diabetes.csv", delimiter=",")
x, y = data[:, :8], data[:, 8]
model = tf.keras.Sequential([tf.keras.layers.Dense(12, activation="relu"), tf.keras.layers.Dense(1, activation="sigmoid")])
model.compile("adam", "binary_crossentropy")
model.fit(x, y, epochs=150, batch_size=10)
