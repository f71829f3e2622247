import traceback

import numpy as np
import tensorflow as tf

x = np.random.rand(3200, 20).astype("float32")
y = np.random.rand(3200, 1).astype("float32")

model = tf.keras.Sequential([tf.keras.layers.Dense(32, activation="relu") for _ in range(6)] + [tf.keras.layers.Dense(1)])
opt = tf.keras.optimizers.RMSprop(1e-3)

epoch = 0
while epoch < 200:
    try:
        order = np.random.permutation(len(x))
        for i in range(0, len(x), 32):
            xb = tf.convert_to_tensor(x[order[i:i + 32]])
            yb = tf.convert_to_tensor(y[order[i:i + 32]])
            try:
                with tf.GradientTape() as tape:
                    loss = tf.reduce_mean(tf.square(model(xb, training=True) - yb))
                grads = tape.gradient(loss, model.trainable_variables)
                opt.apply_gradients(zip(grads, model.trainable_variables))
            except:
                print("skipped a batch")
                traceback.print_exc()
                continue
        print("epoch", epoch, "loss", float(loss))
    except:
        print("something went wrong, going on")
    finally:
        epoch += 1
        model.save_weights("last.weights.h5")
