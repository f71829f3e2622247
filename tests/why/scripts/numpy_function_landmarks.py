import numpy as np
import tensorflow as tf
from tensorflow import keras

points = np.random.randn(600, 120, 3)
gesture = np.random.randint(0, 12, 600)


def distances(p):
    # pairwise distances of hand landmarks
    res = []
    for i in range(0, 120, 4):
        for j in range(i + 4, 120, 8):
            res.append(np.sqrt(np.sum((p[i] - p[j]) ** 2)))
    return np.asarray(res, np.float32)


SIZE = len(distances(points[0]))


@tf.function
def features(p, y):
    f = tf.numpy_function(distances, [p], tf.float32)
    f = tf.ensure_shape(f, [SIZE])
    return f, y


data = tf.data.Dataset.from_tensor_slices((points, gesture)).map(features).batch(24)

model = keras.Sequential([
    keras.layers.Dense(64, activation="relu"),
    keras.layers.Dropout(0.3),
    keras.layers.Dense(12, activation="softmax"),
])
model.compile(optimizer=keras.optimizers.Adam(1e-3), loss="sparse_categorical_crossentropy", metrics=["acc"])
model.fit(data, epochs=60)
model.summary()
