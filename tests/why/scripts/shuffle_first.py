import tensorflow as tf
import numpy as np

tiles = np.random.rand(480, 100, 100, 4).astype('float32')
cover = np.random.randint(0, 6, 480)
BATCH_SIZE = 24


def indices(tile, label):
    # vegetation and water index next to the bands
    r, g, b, nir = tf.unstack(tile, axis=-1)
    ndvi = (nir - r) / (nir + r + 1e-6)
    ndwi = (g - nir) / (g + nir + 1e-6)
    tile = tf.stack([r, g, b, nir, ndvi, ndwi], -1)
    tile = tf.image.resize(tile, (32, 32), method='gaussian', antialias=True)
    return tile, tf.one_hot(label, 6)


dataset = tf.data.Dataset.from_tensor_slices((tiles, cover))
dataset = dataset.shuffle(buffer_size=480)
dataset = dataset.map(indices)
dataset = dataset.batch(BATCH_SIZE)

model = tf.keras.Sequential([
    tf.keras.layers.Input((32, 32, 6)),
    tf.keras.layers.Conv2D(8, 3, strides=2, activation='relu'),
    tf.keras.layers.Flatten(),
    tf.keras.layers.Dense(6, activation='softmax'),
])
model.compile(loss='categorical_crossentropy', optimizer='adam', metrics=['accuracy'])
model.fit(dataset, epochs=100)
