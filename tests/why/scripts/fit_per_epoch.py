import numpy as np
import tensorflow as tf

x_tr, y_tr = np.random.rand(2000, 20), np.random.rand(2000)
x_te, y_te = np.random.rand(500, 20), np.random.rand(500)

model = tf.keras.Sequential([
    tf.keras.layers.Input((20,)),
    tf.keras.layers.Dense(64, activation="relu"),
    tf.keras.layers.Dense(64, activation="relu"),
    tf.keras.layers.Dense(1),
])
model.compile(loss="mse", optimizer="nadam")

curve = []
for epoch in range(300):
    model.fit(x_tr, y_tr, epochs=1, batch_size=50, verbose=0)
    residuals = [float(model.predict(x_te[i:i + 10], verbose=0)[0, 0] - y_te[i]) for i in range(0, 500, 10)]
    rmse = np.sqrt(np.mean(np.square(residuals)))
    curve.append(rmse)
    if rmse == min(curve):
        model.save("best_model.keras")
    print("Epoch %03d: test rmse %.4f" % (epoch, rmse))
