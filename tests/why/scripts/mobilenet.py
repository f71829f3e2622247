import numpy as np
import tensorflow as tf
from tensorflow.keras.applications.mobilenet_v2 import MobileNetV2, preprocess_input

IMG_SIZE = (96, 96)
photos = np.random.randint(0, 255, (240, 360, 480, 3), dtype=np.uint8)
classes = np.random.randint(0, 3, 240)


def load(photo, label):
    photo = tf.image.central_crop(photo, 0.9)
    photo = tf.image.resize(photo, (256, 256), method="area")
    photo = tf.image.resize(photo, IMG_SIZE, method="bicubic", antialias=True)
    return preprocess_input(photo), label


ds = tf.data.Dataset.from_tensor_slices((photos, classes)).map(load).batch(16).prefetch(1)

base = MobileNetV2(input_shape=IMG_SIZE + (3,), alpha=0.35, include_top=False, weights="imagenet")
base.trainable = False

model = tf.keras.Sequential([
    base,
    tf.keras.layers.GlobalAveragePooling2D(),
    tf.keras.layers.Dense(3),
])
model.compile(
    optimizer=tf.keras.optimizers.Adam(),
    loss=tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    metrics=["accuracy"],
)
model.fit(ds, epochs=30)
