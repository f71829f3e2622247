import tensorflow as tf
import numpy as np

train_x, train_y = np.random.rand(1600, 50), np.random.rand(1600, 1)
valid_x, valid_y = np.random.rand(4800, 50), np.random.rand(4800, 1)


class Wide(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.a = tf.keras.layers.Dense(64, activation="relu")
        self.b = tf.keras.layers.Dense(64, activation="relu")
        self.skip = tf.keras.layers.Dense(1)
        self.out = tf.keras.layers.Dense(1)

    def call(self, x):
        return self.out(self.b(self.a(x))) + self.skip(x)


model = Wide()
model.compile(optimizer="adam", loss="huber", run_eagerly=True)
model.fit(train_x, train_y, validation_data=(valid_x, valid_y), epochs=100, batch_size=32)
