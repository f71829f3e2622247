import json
import time

import numpy as np
from tensorflow import keras
from tensorflow.keras import layers

x = np.random.random((8000, 24))
y = np.random.randint(0, 6, (8000,))


class WeightHistory(keras.callbacks.Callback):
    def on_train_begin(self, logs=None):
        self.out = open("history.jsonl", "w")

    def on_train_batch_end(self, batch, logs=None):
        record = {"t": time.time(), "batch": batch, "loss": float(logs["loss"])}
        for layer in self.model.layers:
            for k, w in enumerate(layer.get_weights()):
                counts, edges = np.histogram(w, bins=30)
                record[f"{layer.name}/{k}"] = counts.tolist()
                record[f"{layer.name}/{k}/edges"] = edges.tolist()
        self.out.write(json.dumps(record) + "\n")
        self.out.flush()


model = keras.Sequential([
    layers.Input((24,)),
    layers.Dense(64, activation="relu"),
    layers.Dense(64, activation="relu"),
    layers.Dense(6, activation="softmax"),
])
model.compile(optimizer="sgd", loss="sparse_categorical_crossentropy", metrics=["accuracy"])
model.fit(x, y, epochs=20, batch_size=64, callbacks=[keras.callbacks.EarlyStopping(monitor="loss", patience=50), WeightHistory()])
