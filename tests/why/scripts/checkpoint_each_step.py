import os
import numpy as np
import tensorflow as tf

os.makedirs('./ckpt', exist_ok=True)

inputs = np.random.rand(4096, 64).astype('float32')
outputs = np.random.rand(4096, 8).astype('float32')
train_data = tf.data.Dataset.from_tensor_slices((inputs, outputs)).shuffle(1024).batch(64).repeat()

model = tf.keras.Sequential([
    tf.keras.layers.Dense(128, activation='relu'),
    tf.keras.layers.Dense(64, activation='relu'),
    tf.keras.layers.Dense(8),
])
opt = tf.keras.optimizers.Adam(0.001)
ckpt = tf.train.Checkpoint(step=tf.Variable(0), optimizer=opt, net=model)
manager = tf.train.CheckpointManager(ckpt, './ckpt', max_to_keep=3)


@tf.function
def train_step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.abs(model(x) - y))
    gradients = tape.gradient(loss, model.trainable_variables)
    opt.apply_gradients(zip(gradients, model.trainable_variables))
    return loss


for x, y in train_data.take(20000):
    loss = train_step(x, y)
    ckpt.step.assign_add(1)
    save_path = manager.save()
    if int(ckpt.step) % 100 == 0:
        print("Saved checkpoint for step {}: {}".format(int(ckpt.step), save_path))
        print("loss {:1.3f}".format(loss.numpy()))
