import tensorflow as tf
import numpy as np

x = np.linspace(0, 10, 2000).reshape(-1, 1)
y = np.sin(x) + np.random.normal(0, 0.1, x.shape)

model = tf.keras.Sequential([
    tf.keras.layers.Dense(16, activation="relu", input_shape=(1,)),
    tf.keras.layers.Dense(16, activation="relu"),
    tf.keras.layers.Dense(1),
])
model.compile(optimizer="adam", loss="mse")
model.fit(x, y, epochs=500, batch_size=4)
