import numpy as np
import tensorflow as tf
from tensorflow.keras.preprocessing.image import ImageDataGenerator

x_train = np.random.randint(0, 255, (1000, 32, 32, 3)).astype("float32")
y_train = tf.keras.utils.to_categorical(np.random.randint(0, 10, 1000), 10)

datagen = ImageDataGenerator(
    rescale=1.0 / 255,
    horizontal_flip=True,
    brightness_range=None,
    channel_shift_range=20.0,
    featurewise_center=True,
    featurewise_std_normalization=True,
)
datagen.fit(x_train)

model = tf.keras.models.Sequential([
    tf.keras.layers.Conv2D(8, 3, strides=2, activation="relu", input_shape=(32, 32, 3)),
    tf.keras.layers.Flatten(),
    tf.keras.layers.Dense(10, activation="softmax"),
])
model.compile(loss="categorical_crossentropy", optimizer="adam", metrics=["accuracy"])

batch_size = 32
epochs = 100
model.fit(
    datagen.flow(x_train, y_train, batch_size=batch_size),
    steps_per_epoch=len(x_train) // batch_size,
    epochs=epochs,
)
