import numpy as np
import tensorflow as tf

X = np.random.randn(20000, 30).astype(np.float32)
Y = np.random.randn(20000, 1).astype(np.float32)

model = tf.keras.Sequential([
    tf.keras.layers.Input((30,)),
    tf.keras.layers.Dense(128, activation="elu"),
    tf.keras.layers.Dense(256, activation="elu"),
    tf.keras.layers.Dense(1),
])
optimizer = tf.keras.optimizers.SGD(0.01)
ds = tf.data.Dataset.from_tensor_slices((X, Y)).batch(50).prefetch(2)


@tf.function
def train(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(x, training=True) - y) ** 2)
    grads = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(grads, model.trainable_variables))
    return loss


losses = []
drift = []
start = [w.numpy() for w in model.trainable_variables]
for epoch in range(40):
    for i, (x, y) in enumerate(ds):
        loss = train(x, y)
        losses.append(float(loss))
        drift.append([np.percentile(np.abs(w.numpy() - s), 90) for w, s in zip(model.trainable_variables, start)])
        print("epoch %d batch %d loss %.4f drift %s" % (epoch, i, losses[-1], np.round(drift[-1], 4)))
