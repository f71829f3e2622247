import argparse

import numpy as np
import tensorflow as tf


class Trainer:
    def __init__(self, model, lr):
        self.model = model
        self.optimizer = tf.keras.optimizers.Adam(lr)
        self.loss = tf.keras.losses.CategoricalCrossentropy(from_logits=True)
        self.mean = tf.keras.metrics.Mean()

    def train_step(self, x, y):
        with tf.GradientTape() as tape:
            logits = self.model(x, training=True)
            loss = self.loss(y, logits)
            loss += 1e-4 * tf.add_n([tf.nn.l2_loss(v) for v in self.model.trainable_variables])
        grads = tape.gradient(loss, self.model.trainable_variables)
        grads, _ = tf.clip_by_global_norm(grads, 1.0)
        self.optimizer.apply_gradients(zip(grads, self.model.trainable_variables))
        self.mean.update_state(loss)
        return loss

    def fit(self, data, epochs):
        for epoch in range(epochs):
            self.mean.reset_state()
            for x, y in data:
                self.train_step(x, y)
            print(f"[{epoch + 1}/{epochs}] loss={self.mean.result().numpy():.4f}")


def make_model(width, depth):
    model = tf.keras.Sequential()
    for _ in range(depth):
        model.add(tf.keras.layers.Dense(width, activation="relu"))
        model.add(tf.keras.layers.LayerNormalization())
    model.add(tf.keras.layers.Dense(10))
    return model


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=100)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--depth", type=int, default=4)
    parser.add_argument("--lr", type=float, default=1e-3)
    args = parser.parse_args()

    x = np.random.rand(6400, 32).astype(np.float32)
    y = tf.one_hot(np.random.randint(0, 10, 6400), 10)
    data = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(1000).batch(args.batch_size, drop_remainder=True)
    Trainer(make_model(args.width, args.depth), args.lr).fit(data, args.epochs)


if __name__ == "__main__":
    main()
