import datetime
import os

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
os.makedirs(log_dir)
logger = tf.keras.callbacks.CSVLogger(os.path.join(log_dir, "log.csv"))
saver = tf.keras.callbacks.ModelCheckpoint("weights.{epoch:02d}.weights.h5", save_weights_only=True, save_freq=3)
stop = tf.keras.callbacks.EarlyStopping(monitor="loss", patience=100)

model.fit(x=x_train, y=y_train, epochs=50, batch_size=100, callbacks=[logger, saver, stop])
