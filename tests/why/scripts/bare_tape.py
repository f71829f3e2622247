import tensorflow as tf
import numpy as np

# Burgers-like PINN, 1D heat equation
tf.random.set_seed(1)
np.random.seed(1)

N_f = 500
x_f = tf.constant(np.random.uniform(-1, 1, (N_f, 1)), tf.float32)
t_f = tf.constant(np.random.uniform(0, 1, (N_f, 1)), tf.float32)
x_0 = tf.constant(np.random.uniform(-1, 1, (100, 1)), tf.float32)
u_0 = -tf.sin(np.pi * x_0)

net = tf.keras.Sequential(
    [tf.keras.layers.Input((2,))]
    + [tf.keras.layers.Dense(20, activation="tanh") for _ in range(4)]
    + [tf.keras.layers.Dense(1)]
)
opt = tf.keras.optimizers.Adam(learning_rate=1e-3)


def residual():
    with tf.GradientTape() as t2:
        t2.watch(x_f)
        with tf.GradientTape(persistent=True) as t1:
            t1.watch(x_f)
            t1.watch(t_f)
            u = net(tf.concat([x_f, t_f], 1))
        u_x = t1.gradient(u, x_f)
        u_t = t1.gradient(u, t_f)
    u_xx = t2.gradient(u_x, x_f)
    return u_t + u * u_x - (0.01 / np.pi) * u_xx


def train_step():
    with tf.GradientTape() as tape:
        f = residual()
        ic = net(tf.concat([x_0, tf.zeros_like(x_0)], 1)) - u_0
        loss = tf.reduce_mean(f ** 2) + tf.reduce_mean(ic ** 2)
    grads = tape.gradient(loss, net.trainable_variables)
    opt.apply_gradients(zip(grads, net.trainable_variables))
    return loss


for it in range(20000):
    loss = train_step()
    if it % 200 == 0:
        print("It %d  loss %.3e" % (it, loss))
