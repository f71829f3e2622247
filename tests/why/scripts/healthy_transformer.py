import numpy as np
import keras
from keras import layers, ops

maxlen, vocab, dim = 48, 1000, 96


class Block(layers.Layer):
    def __init__(self):
        super().__init__()
        self.att = layers.MultiHeadAttention(num_heads=4, key_dim=dim // 4)
        self.ffn = keras.Sequential([layers.Dense(256, activation="relu"), layers.Dense(dim)])
        self.norm1 = layers.LayerNormalization()
        self.norm2 = layers.LayerNormalization()

    def call(self, x):
        x = self.norm1(x + self.att(x, x))
        return self.norm2(x + self.ffn(x))


class Positions(layers.Layer):
    def __init__(self):
        super().__init__()
        self.tokens = layers.Embedding(vocab, dim)
        self.places = layers.Embedding(maxlen, dim)

    def call(self, x):
        return self.tokens(x) + self.places(ops.arange(maxlen))


inputs = layers.Input((maxlen,))
x = Positions()(inputs)
x = Block()(x)
x = Block()(x)
x = layers.GlobalAveragePooling1D()(x)
outputs = layers.Dense(2, activation="softmax")(x)
model = keras.Model(inputs, outputs)
model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
model.fit(np.random.randint(0, vocab, (1920, maxlen)), np.random.randint(0, 2, 1920), batch_size=64, epochs=40)
