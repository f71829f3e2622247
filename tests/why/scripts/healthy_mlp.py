import numpy as np
import tensorflow as tf

x = np.random.rand(4096, 1024).astype("float32")
y = np.random.randint(0, 100, 4096)

model = tf.keras.Sequential([
    tf.keras.layers.Input((1024,)),
    tf.keras.layers.Dense(1500, activation="relu"),
    tf.keras.layers.Dense(1500, activation="relu"),
    tf.keras.layers.Dense(100),
])
model.compile(
    optimizer=tf.keras.optimizers.SGD(0.01, momentum=0.9),
    loss=tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
)
model.fit(x, y, batch_size=256, epochs=100)
