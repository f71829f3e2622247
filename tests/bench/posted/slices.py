import time

import numpy as np
import tensorflow as tf

x_train = np.random.random((1000, 100))
y_train = np.random.randint(10, size=1000)

model = tf.keras.models.Sequential(
    [
        tf.keras.layers.Input(shape=(100,)),
        tf.keras.layers.Dense(128, activation="relu"),
        tf.keras.layers.Dense(10, activation="softmax"),
    ]
)
optimizer = tf.keras.optimizers.Adam(learning_rate=1e-3)
loss_fn = tf.keras.losses.SparseCategoricalCrossentropy()


@tf.function
def train_step(model, optimizer, loss_fn, x, y):
    with tf.GradientTape() as tape:
        loss = loss_fn(y, model(x, training=True))
    grads = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(grads, model.trainable_variables, strict=True))
    return loss


with tf.device("/CPU:0"):
    began = time.time()
    for step in range(100):
        batch = slice(step * 10, (step + 1) * 10)
        loss = train_step(model, optimizer, loss_fn, x_train[batch], y_train[batch]).numpy()
    print(time.time() - began)
