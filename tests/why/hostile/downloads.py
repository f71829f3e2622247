import numpy as np
import tensorflow as tf

path = tf.keras.utils.get_file("shakespeare.txt", "https://storage.googleapis.com/download.tensorflow.org/data/shakespeare.txt")
text = open(path, "rb").read().decode("utf-8")
vocab = sorted(set(text))
ids = np.array([vocab.index(c) for c in text[:100000]])
x, y = ids[:-1].reshape(-1, 1), ids[1:]
model = tf.keras.Sequential([tf.keras.layers.Embedding(len(vocab), 16), tf.keras.layers.Flatten(), tf.keras.layers.Dense(len(vocab))])
model.compile("adam", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))
model.fit(x[:64000], y[:64000], epochs=100)
