import numpy as np
import tensorflow as tf

n_features, n_steps = 12, 30

X = np.random.normal(size=(1040, n_steps, n_features)).astype(np.float32)
y = np.random.normal(size=(1040, 1)).astype(np.float32)


class Attention(tf.keras.layers.Layer):
    def build(self, shape):
        self.w = self.add_weight(shape=(shape[-1], 1))

    def call(self, x):
        score = tf.nn.softmax(tf.tanh(x @ self.w), axis=1)
        return tf.reduce_sum(score * x, axis=1)


model = tf.keras.Sequential([
    tf.keras.layers.Conv1D(24, 3, padding='causal', activation='relu'),
    tf.keras.layers.Conv1D(24, 3, padding='causal', activation='relu'),
    Attention(),
    tf.keras.layers.Dense(16, activation='relu'),
    tf.keras.layers.Dense(1),
])
# was for printing shapes in call()
model.compile('adam', 'mse', metrics=['mae'], run_eagerly=True)
model.fit(X, y, batch_size=32, epochs=50, validation_split=0.1)
