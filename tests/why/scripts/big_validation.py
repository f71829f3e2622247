import numpy as np
import tensorflow as tf
from tensorflow.keras import layers

SEQ_LEN, FEATURES = 24, 6
series = np.random.randn(8000, FEATURES).astype("float32")


def windows(data, batch):
    ds = tf.keras.utils.timeseries_dataset_from_array(
        data[:-SEQ_LEN], data[SEQ_LEN:, 0], sequence_length=SEQ_LEN, batch_size=batch)
    return ds.prefetch(tf.data.AUTOTUNE)


# recent data is what we care about, so most of it is for validation
train = windows(series[:2000], 64)
val = windows(series[2000:], 64)

model = tf.keras.Sequential([
    layers.Input((SEQ_LEN, FEATURES)),
    layers.Conv1D(32, 5, activation="relu"),
    layers.Conv1D(32, 5, activation="relu"),
    layers.Flatten(),
    layers.Dense(1),
])
model.compile(loss="mae", optimizer=tf.keras.optimizers.Adam())
model.fit(train, epochs=100, validation_data=val, verbose=2)
