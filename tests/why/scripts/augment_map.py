import tensorflow as tf
import numpy as np

AUTOTUNE = tf.data.AUTOTUNE

scans = np.random.rand(512, 128, 128, 1).astype("float32")
target = (np.random.rand(512) > 0.5).astype("float32")


def prepare(img, y):
    # local contrast: subtract a blurred copy
    small = tf.image.resize(img, [16, 16], method="area")
    blurred = tf.image.resize(small, [128, 128], method="bicubic")
    img = (img - blurred) / (tf.math.reduce_std(img - blurred) + 1e-4)
    img = tf.image.resize(img, [40, 40], method="lanczos3", antialias=True)
    return img, y


def augment(img, y):
    img = tf.image.random_flip_left_right(img)
    img = tf.image.random_flip_up_down(img)
    img = tf.image.random_crop(img, [36, 36, 1])
    img = tf.image.random_brightness(img, 0.1)
    return img, y


ds = (
    tf.data.Dataset.from_tensor_slices((scans, target))
    .map(prepare, num_parallel_calls=AUTOTUNE)
    .shuffle(512)
    .map(augment, num_parallel_calls=AUTOTUNE)
    .batch(32)
    .prefetch(AUTOTUNE)
)

inp = tf.keras.Input((36, 36, 1))
x = tf.keras.layers.Conv2D(8, 3, activation="relu")(inp)
x = tf.keras.layers.MaxPooling2D(3)(x)
x = tf.keras.layers.Flatten()(x)
x = tf.keras.layers.Dense(16, activation="relu")(x)
out = tf.keras.layers.Dense(1, activation="sigmoid")(x)
model = tf.keras.Model(inp, out)
model.compile("adam", "binary_crossentropy", metrics=["AUC"])

history = model.fit(ds, epochs=80, verbose=2)
