import os

import numpy as np
import tensorflow as tf

MOST = int(os.environ.get("EAT_GB", "8")) * 2  # halves of a GB, so that a try without a container does not end the machine

model = tf.keras.Sequential([tf.keras.layers.Dense(8), tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")


class Keep(tf.keras.callbacks.Callback):
    kept = []

    def on_train_batch_end(self, batch, logs=None):
        if len(self.kept) < MOST:
            self.kept.append(np.ones(64 * 1024 * 1024))


model.fit(np.random.rand(3200, 4), np.random.rand(3200), epochs=1000, callbacks=[Keep()])
