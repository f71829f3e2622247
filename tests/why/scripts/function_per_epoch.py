import tensorflow as tf
import numpy as np

states = np.random.rand(1280, 10).astype("float32")
returns = np.random.rand(1280).astype("float32")

model = tf.keras.Sequential([
    tf.keras.layers.Dense(64, activation="tanh"),
    tf.keras.layers.Dense(64, activation="tanh"),
    tf.keras.layers.Dense(1),
])
optimizer = tf.keras.optimizers.Adam(3e-4)


def run_epoch(data, clip):
    @tf.function
    def update(s, r):
        with tf.GradientTape() as tape:
            v = tf.squeeze(model(s), -1)
            loss = tf.reduce_mean(tf.clip_by_value(tf.square(v - r), 0.0, clip))
        grads = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(grads, model.trainable_variables))
        return loss

    losses = []
    for s, r in data:
        losses.append(update(s, r))
    return tf.reduce_mean(losses)


data = tf.data.Dataset.from_tensor_slices((states, returns)).batch(64)
for iteration in range(1000):
    loss = run_epoch(data, clip=10.0)
    print("iteration", iteration, "value loss", float(loss))
