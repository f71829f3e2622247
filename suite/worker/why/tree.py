class Tree:
    def __init__(self, source, filename):
        self.source, self.filename = source, filename

    def on_for(self, fn):
        pass

    def compile(self):
        return compile(self.source, self.filename, "exec")
