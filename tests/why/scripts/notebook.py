#!/usr/bin/env python
# coding: utf-8

# # Predicting house prices

# In[1]:

get_ipython().system('pip install -q tensorflow')
get_ipython().run_line_magic('matplotlib', 'inline')
%load_ext tensorboard
!nvidia-smi

import numpy as np
import tensorflow as tf

print(tf.__version__)

# In[2]:

X = np.random.rand(3000, 13)
y = np.random.rand(3000)
split = 1500

# In[3]:

norm = tf.keras.layers.Normalization()
norm.adapt(X[:split])

model = tf.keras.Sequential([
    norm,
    tf.keras.layers.Dense(64, activation='relu'),
    tf.keras.layers.Dense(64, activation='relu'),
    tf.keras.layers.Dense(1),
])
model.compile(optimizer='rmsprop', loss='mse', metrics=['mae'])

# In[4]:

!mkdir -p logs
ls = []


class PrintR2(tf.keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs):
        if epoch % 5 == 0:
            print('.', end='')
        p = np.array([self.model.predict(row.reshape(1, -1), verbose=0)[0, 0] for row in X[split:split + 60]])
        t = y[split:split + 60]
        ls.append(1 - np.sum((t - p) ** 2) / np.sum((t - t.mean()) ** 2))


%time history = model.fit(X[:split], y[:split], epochs=200, batch_size=50, verbose=0, callbacks=[PrintR2()])

# In[5]:

get_ipython().run_line_magic('tensorboard', '--logdir logs')
print(max(ls))
