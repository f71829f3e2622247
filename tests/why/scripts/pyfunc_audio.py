"""Keyword spotting on raw audio, spectrograms with numpy."""
import numpy as np
import tensorflow as tf

SR = 8000
N_CLASSES = 8

rng = np.random.default_rng(0)
clips = rng.normal(size=(400, SR)).astype(np.float32)
labels = rng.integers(0, N_CLASSES, size=400)


def spectrogram(wave):
    wave = wave.numpy()
    frames = []
    for start in range(0, len(wave) - 256, 128):
        frame = wave[start:start + 256] * np.hanning(256)
        frames.append(np.log(np.abs(np.fft.rfft(frame)) + 1e-6))
    return np.array(frames, dtype=np.float32)


def load(wave, label):
    spec = tf.py_function(spectrogram, [wave], tf.float32)
    spec.set_shape((61, 129))
    return spec, label


train = tf.data.Dataset.from_tensor_slices((clips, labels))
train = train.map(load, num_parallel_calls=tf.data.AUTOTUNE)
train = train.batch(20).prefetch(tf.data.AUTOTUNE)

model = tf.keras.models.Sequential()
model.add(tf.keras.layers.Input(shape=(61, 129)))
model.add(tf.keras.layers.Conv1D(16, 5, activation="relu"))
model.add(tf.keras.layers.GlobalMaxPooling1D())
model.add(tf.keras.layers.Dense(N_CLASSES, activation="softmax"))
model.compile(loss="sparse_categorical_crossentropy", optimizer="rmsprop")
model.fit(train, epochs=100)
