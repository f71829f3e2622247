import numpy as np
import tensorflow as tf

AUTOTUNE = tf.data.AUTOTUNE
raw = np.random.randint(0, 255, (1500, 64, 64, 3), dtype=np.uint8)
labels = np.random.randint(0, 7, 1500)


def decode(img, label):
    img = tf.image.resize(tf.cast(img, tf.float32), (48, 48))
    return img / 127.5 - 1.0, label


ds = (
    tf.data.Dataset.from_tensor_slices((raw, labels))
    .map(decode, num_parallel_calls=AUTOTUNE)
    .cache()
    .shuffle(1500)
    .batch(50)
    .prefetch(AUTOTUNE)
)

model = tf.keras.Sequential([
    tf.keras.layers.Input((48, 48, 3)),
    tf.keras.layers.Conv2D(32, 5, strides=2, activation="relu"),
    tf.keras.layers.Conv2D(64, 3, activation="relu"),
    tf.keras.layers.MaxPooling2D(),
    tf.keras.layers.Conv2D(96, 3, activation="relu"),
    tf.keras.layers.GlobalAveragePooling2D(),
    tf.keras.layers.Dense(7, activation="softmax"),
])
model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
model.fit(ds, epochs=60)
