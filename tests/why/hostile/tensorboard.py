import datetime

import numpy as np
import tensorflow as tf

x_train = np.random.rand(3000, 30).astype("float32")
y_train = np.random.randint(0, 2, 3000)


def create_model():
    return tf.keras.models.Sequential([
        tf.keras.layers.Input((30,)),
        tf.keras.layers.Dense(256, activation='relu'),
        tf.keras.layers.Dense(256, activation='relu'),
        tf.keras.layers.Dropout(0.2),
        tf.keras.layers.Dense(1, activation='sigmoid'),
    ])


model = create_model()
model.compile(optimizer='adam', loss='binary_crossentropy', metrics=['accuracy'])

log_dir = "logs/fit/" + datetime.datetime.now().strftime("%Y%m%d-%H%M%S")
tensorboard_callback = tf.keras.callbacks.TensorBoard(log_dir=log_dir, histogram_freq=1, update_freq=1, write_images=False)
saver = tf.keras.callbacks.ModelCheckpoint("weights.{epoch:02d}.weights.h5", save_weights_only=True, save_freq=3)

model.fit(x=x_train, y=y_train, epochs=50, batch_size=100, callbacks=[tensorboard_callback, saver])
