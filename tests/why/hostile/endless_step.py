import numpy as np
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
opt = tf.keras.optimizers.SGD()


@tf.function
def step(x):
    i = tf.constant(0)
    while i >= 0:
        i = (i + 1) % 1000
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x))
    opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))


for _ in range(1000):
    step(tf.constant(np.random.rand(32, 4), tf.float32))
