namespace Tidemark.Tests.Functions;

/// A host in a process of its own. It says what its functions note.
public static class ProcessOfAHost
{
    const string Ready = "ready";

    public static async Task<OtherProcess> Start(Recipe recipe)
    {
        var process = new OtherProcess(Program.HostWord, recipe.Functions.Single().AssemblyQualifiedName!, recipe.Id, recipe.Names["in"]!);
        await process.Says(Ready);
        return process;
    }

    /// What such a process does.
    public static async Task<int> Run(Type functions, string id, string name)
    {
        var recipe = Locks.Recipe(functions, id, name);
        recipe.Notes.Then = note =>
        {
            Console.WriteLine(note);
            // It works on what it has until it is killed.
            return new TaskCompletionSource().Task;
        };
        await using var host = await Host.Start(recipe);
        Console.WriteLine(Ready);
        await OtherProcess.EndOfInput();
        return 0;
    }
}
