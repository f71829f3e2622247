import numpy as np
import tensorflow as tf

# 1D regression with 10 points for training and 10 for validation
x = np.linspace(-1, 1, 10)[:, None]
y = np.sin(3 * x)
xv = np.random.uniform(-1, 1, (10, 1))
yv = np.sin(3 * xv)

inp = tf.keras.layers.Input((1,))
h = tf.keras.layers.Dense(30, activation="tanh")(inp)
h = tf.keras.layers.Dense(30, activation="tanh")(h)
out = tf.keras.layers.Dense(1)(h)
model = tf.keras.Model(inp, out)
model.compile(loss="mse", optimizer=tf.keras.optimizers.Adam(learning_rate=5e-4))

history = model.fit(x, y, validation_data=(xv, yv), batch_size=10, epochs=5000, verbose=0)
print(history.history["val_loss"][-1])
