import numpy as np
import tensorflow as tf

patches = np.random.rand(400, 80, 80, 1).astype(np.float32)


def degrade(hr):
    lr = tf.image.resize(hr, (20, 20), method="area")
    lr = tf.image.resize(lr, (80, 80), method="bicubic")
    lr = tf.image.adjust_gamma(tf.clip_by_value(lr, 0, 1), 1.1)
    return tf.image.resize(lr, (40, 40)), tf.image.resize(hr, (40, 40), antialias=True)


ds = tf.data.Dataset.from_tensor_slices(patches).map(degrade).repeat().batch(16)

model = tf.keras.Sequential([
    tf.keras.layers.Conv2D(8, 3, padding="same", activation="relu"),
    tf.keras.layers.Conv2D(1, 3, padding="same"),
])
optimizer = tf.keras.optimizers.Adam()


@tf.function
def train_step(lr, hr):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.abs(model(lr, training=True) - hr))
    grads = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(grads, model.trainable_variables))
    return loss


it = iter(ds)
step = 0
while step < 50000:
    lr, hr = next(it)
    loss = train_step(lr, hr)
    step += 1
    if step % 100 == 0:
        print("step", step, "L1", loss.numpy())
