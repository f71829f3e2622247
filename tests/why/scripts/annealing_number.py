import numpy as np
import tensorflow as tf

latent = 8
x_train = np.random.rand(6400, 100).astype(np.float32)
dataset = tf.data.Dataset.from_tensor_slices(x_train).batch(64)

encoder = tf.keras.Sequential([tf.keras.layers.Dense(64, activation='relu'), tf.keras.layers.Dense(2 * latent)])
decoder = tf.keras.Sequential([tf.keras.layers.Dense(64, activation='relu'), tf.keras.layers.Dense(100)])
optimizer = tf.keras.optimizers.Adam(1e-3)


@tf.function
def train_step(x, beta):
    with tf.GradientTape() as tape:
        mean, logvar = tf.split(encoder(x), 2, axis=1)
        z = mean + tf.exp(0.5 * logvar) * tf.random.normal(tf.shape(mean))
        rec = tf.reduce_mean(tf.square(decoder(z) - x))
        kl = -0.5 * tf.reduce_mean(1 + logvar - tf.square(mean) - tf.exp(logvar))
        loss = rec + beta * kl
    variables = encoder.trainable_variables + decoder.trainable_variables
    optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
    return loss


step = 0
for epoch in range(100):
    total = 0.0
    for x in dataset:
        # warm up the KL term
        beta = min(1.0, step / 5000.0)
        total += train_step(x, beta)
        step += 1
    print('epoch', epoch, 'loss', float(total) / 100)
