import tensorflow as tf

BATCH_SIZE = 256

features = tf.random.normal((6400, 512))
targets = tf.random.normal((6400, 16))
dataset = tf.data.Dataset.from_tensor_slices((features, targets)).shuffle(6400).batch(BATCH_SIZE).prefetch(tf.data.AUTOTUNE)

model = tf.keras.Sequential([
    tf.keras.layers.Dense(1024, activation="relu"),
    tf.keras.layers.Dense(1024, activation="relu"),
    tf.keras.layers.Dense(16),
])
optimizer = tf.keras.optimizers.SGD(0.01)
mse = tf.keras.losses.MeanSquaredError()


@tf.function
def train_step(x, y):
    with tf.GradientTape() as tape:
        loss = mse(y, model(x, training=True))
    grads = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(grads, model.trainable_variables))
    return loss


for epoch in range(50):
    total = tf.constant(0.0)
    steps = 0
    for x, y in dataset:
        total += train_step(x, y)
        steps += 1
    print(f"epoch {epoch}: {total.numpy() / steps:.4f}")
