import numpy as np
import tensorflow as tf

rng = np.random.default_rng(3)
docs = [rng.integers(1, 2000, size=rng.integers(20, 900)) for _ in range(4000)]
labels = rng.integers(0, 2, size=4000).astype("float32")

model = tf.keras.Sequential([
    tf.keras.layers.Embedding(2000, 16),
    tf.keras.layers.Conv1D(16, 5, padding="same", activation="relu"),
    tf.keras.layers.GlobalMaxPooling1D(),
    tf.keras.layers.Dense(1),
])
loss_fn = tf.keras.losses.BinaryCrossentropy(from_logits=True)
opt = tf.keras.optimizers.Adam()


@tf.function
def step(x, y):
    with tf.GradientTape() as tape:
        loss = loss_fn(y, model(x, training=True))
    g = tape.gradient(loss, model.trainable_weights)
    opt.apply_gradients(zip(g, model.trainable_weights))
    return loss


def batches(size=8):
    order = rng.permutation(len(docs))
    for i in range(0, len(order), size):
        idx = order[i:i + size]
        longest = max(len(docs[k]) for k in idx)
        x = np.zeros((len(idx), longest), np.int32)
        for row, k in enumerate(idx):
            x[row, :len(docs[k])] = docs[k]
        yield tf.constant(x), tf.constant(labels[idx][:, None])


for epoch in range(30):
    for x, y in batches():
        loss = step(x, y)
    print(epoch, loss.numpy())
