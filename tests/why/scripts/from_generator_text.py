import random

import tensorflow as tf

VOCAB = [f"w{i}" for i in range(3000)]
SENTENCES = [" ".join(random.choice(VOCAB) for _ in range(60)) for _ in range(1200)]
LABELS = [random.randint(0, 1) for _ in SENTENCES]

word_index = {w: i + 1 for i, w in enumerate(VOCAB)}


def gen():
    for s, y in zip(SENTENCES, LABELS):
        tokens = [word_index.get(t.strip().lower(), 0) for t in s.split()]
        bigrams = [(a * 31 + b) % 5000 for a, b in zip(tokens, tokens[1:])]
        vec = [0.0] * 256
        for b in bigrams:
            vec[b % 256] += 1.0
        yield vec, y


dataset = tf.data.Dataset.from_generator(
    gen,
    output_signature=(
        tf.TensorSpec(shape=(256,), dtype=tf.float32),
        tf.TensorSpec(shape=(), dtype=tf.int32),
    ),
)
dataset = dataset.batch(32)

model = tf.keras.Sequential([
    tf.keras.Input(shape=(256,)),
    tf.keras.layers.Dense(32, activation="relu"),
    tf.keras.layers.Dense(1, activation="sigmoid"),
])
model.compile(optimizer="adam", loss="binary_crossentropy", metrics=["accuracy"])
model.fit(dataset, epochs=30)
