import time

import numpy as np
import tensorflow as tf

x_train = np.random.random((10_000, 128)).astype(np.float32)
y_train = np.random.randint(2, size=(10_000, 1))
train = tf.data.Dataset.from_tensor_slices((x_train, y_train))
train = train.shuffle(10_000).batch(512).prefetch(tf.data.AUTOTUNE)

model = tf.keras.models.Sequential(
    [
        tf.keras.layers.Input(shape=(128,)),
        tf.keras.layers.Dense(256, activation="relu"),
        tf.keras.layers.Dense(128, activation="relu"),
        tf.keras.layers.Dense(1, activation="sigmoid"),
    ]
)
model.compile(optimizer="adam", loss="binary_crossentropy")
times = []


class TimeHistory(tf.keras.callbacks.Callback):
    def on_epoch_begin(self, epoch, logs=None):
        self.began = time.time()

    def on_epoch_end(self, epoch, logs=None):
        times.append(time.time() - self.began)


with tf.device("/CPU:0"):
    model.fit(train, epochs=3, callbacks=[TimeHistory()])
print(*times)
